// A stock UAA: the newest one of Maven Central (2019), in a Tomcat of its time, with the libraries that Java 17 lacks. Its users and keys are made here.
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";
import { runCommand } from "../../../scripts/run-command.ts";
import { freePort } from "../../cluster/free-port.ts";
import { startGuarded } from "../../cluster/guarded-process.ts";
import { eventually } from "../../eventually.ts";

const WAR = "org.cloudfoundry.identity:cloudfoundry-identity-uaa:4.30.0:war";
const TOMCAT = "org.apache.tomcat:tomcat:9.0.98:zip";
/** Since Java 11 it has none of these. */
const JAXB = [
  "javax.xml.bind:jaxb-api:2.3.1",
  "com.sun.xml.bind:jaxb-impl:2.3.1",
  "com.sun.xml.bind:jaxb-core:2.3.0.1",
  "javax.activation:javax.activation-api:1.2.0",
];
/** The war's 2.5.2 reads no classes of Java 17. */
const GROOVY = "org.codehaus.groovy:groovy:2.5.23";
const COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";
const OPENED = ["java.lang", "java.lang.reflect", "java.util", "java.net", "java.io"];
const DOWNLOAD_MS = 300_000;
/** 80 s on an idle machine. */
const START_MS = 400_000;

export interface UAA {
  /** https; tokens have `${url}/oauth/token` as issuer. */
  url: string;
  ca: string;
  stop(): Promise<void>;
}

export interface UAAUsers {
  /** Passwords by user name. */
  users: Readonly<Record<string, string>>;
  /** Secrets of clients by id, which get tokens of their own. */
  clients: Readonly<Record<string, string>>;
}

/** Undefined, or the reason why none can be started here. */
export async function obtainUAA(folder: string): Promise<string | undefined> {
  for (const artifact of [WAR, TOMCAT, ...JAXB, GROOVY]) {
    const parts = join(
      folder,
      artifact === WAR || artifact === TOMCAT ? "archives" : artifact === GROOVY ? "groovy" : "jaxb",
    );
    const argv = ["mvn", "-q", "-B", COPY, `-Dartifact=${artifact}`, `-DoutputDirectory=${parts}`] as const;
    try {
      const { code, output } = await runCommand([...argv], { cwd: folder, deadlineMs: DOWNLOAD_MS });
      if (code !== 0) return `${artifact} cannot be had from Maven Central: ${output.slice(-300)}`;
    } catch {
      return "there is no mvn";
    }
  }
  const { output } = await runCommand(["java", "-version"], { cwd: folder, deadlineMs: 60_000 });
  return /version "1[1-7][."]/.test(output)
    ? undefined
    : `it needs Java 11 to 17, and this is ${output.split("\n")[0]}`;
}

/** Starts what `obtainUAA` put into `folder`. @throws Error with its log's end when it does not answer in time */
export async function startUAA(folder: string, who: UAAUsers): Promise<UAA> {
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const tomcat = unpack(folder);
  const ca = await writeServer(tomcat, port);
  const config = join(folder, "config");
  mkdirSync(config);
  writeFileSync(join(config, "uaa.yml"), configuration(tomcat, url, who));
  const running = startGuarded(
    [
      "java",
      ...OPENED.map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`),
      `-DUAA_CONFIG_PATH=${config}`,
      `-DCLOUDFOUNDRY_CONFIG_PATH=${config}`,
      `-Dcatalina.base=${tomcat}`,
      `-Dcatalina.home=${tomcat}`,
      `-Djava.io.tmpdir=${join(tomcat, "temp")}`,
      ...["-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
      "-cp",
      ["bootstrap.jar", "tomcat-juli.jar"].map((name) => join(tomcat, "bin", name)).join(":"),
      "org.apache.catalina.startup.Bootstrap",
      "start",
    ],
    { name: "uaa", logFile: join(folder, "uaa.log") },
  );
  try {
    await eventually(async () => {
      if (!running.running()) return;
      await requireAnswer(url, ca);
    }, START_MS);
    if (!running.running()) throw new Error("it ended by itself");
  } catch (cause) {
    await running.kill();
    throw new Error(`the UAA did not start: ${running.log()}`, { cause });
  }
  return { url, ca, stop: () => running.kill() };
}

function unpack(folder: string): string {
  const archives = join(folder, "archives");
  const unzip = (archive: string, into: string): unknown =>
    execFileSync("unzip", ["-q", join(archives, archive), "-d", into], { timeout: 120_000 });
  unzip("tomcat-9.0.98.zip", folder);
  const tomcat = join(folder, "apache-tomcat-9.0.98");
  const webapp = join(tomcat, "webapps", "ROOT");
  rmSync(join(tomcat, "webapps"), { recursive: true });
  mkdirSync(webapp, { recursive: true });
  unzip("cloudfoundry-identity-uaa-4.30.0.war", webapp);
  rmSync(join(webapp, "WEB-INF", "lib", "groovy-2.5.2.jar"));
  cpSync(join(folder, "groovy"), join(webapp, "WEB-INF", "lib"), { recursive: true });
  cpSync(join(folder, "jaxb"), join(tomcat, "lib"), { recursive: true });
  return tomcat;
}

/** Tomcat's server.xml and its certificate. @returns the PEM of the certificate's authority */
async function writeServer(tomcat: string, port: number): Promise<string> {
  const authority = await makeAuthority("uaa-authority");
  const { cert, key } = await issueCertificate(authority, { commonName: "127.0.0.1", ipAddresses: ["127.0.0.1"] });
  const at = (name: string): string => join(tomcat, "conf", name);
  writeFileSync(at("cert.pem"), cert);
  writeFileSync(at("key.pem"), key, { mode: 0o600 });
  writeFileSync(
    at("server.xml"),
    `<Server port="-1"><Service name="Catalina">
  <Connector address="127.0.0.1" port="${port}" protocol="org.apache.coyote.http11.Http11NioProtocol" SSLEnabled="true" scheme="https" secure="true">
    <SSLHostConfig><Certificate certificateFile="conf/cert.pem" certificateKeyFile="conf/key.pem"/></SSLHostConfig>
  </Connector>
  <Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps"/></Engine>
</Service></Server>`,
  );
  return authority.cert;
}

/** The war's own required settings, with our users, clients and key. */
function configuration(tomcat: string, url: string, { users, clients }: UAAUsers): string {
  const required = parse(
    readFileSync(join(tomcat, "webapps", "ROOT", "WEB-INF", "classes", "required_configuration.yml"), "utf8"),
  ) as Record<string, unknown>;
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const scopes = "openid,cloud_controller.read,cloud_controller.write";
  return stringify({
    ...required,
    spring_profiles: "default,hsqldb",
    issuer: { uri: url },
    uaa: { url },
    jwt: {
      token: {
        policy: {
          activeKeyId: "one",
          keys: { one: { signingKey: privateKey.export({ type: "pkcs1", format: "pem" }) } },
        },
      },
    },
    scim: {
      users: Object.entries(users).map(
        ([name, password]) => `${name}|${password}|${name}@example.org|${name}|Tester|${scopes}`,
      ),
    },
    oauth: {
      clients: {
        cf: {
          id: "cf",
          secret: "",
          override: true,
          scope: scopes,
          authorities: "uaa.none",
          "authorized-grant-types": "password,refresh_token",
          autoapprove: true,
        },
        ...Object.fromEntries(
          Object.entries(clients).map(([id, secret]) => [
            id,
            {
              id,
              secret,
              override: true,
              authorities: "cloud_controller.read,cloud_controller.write",
              "authorized-grant-types": "client_credentials",
            },
          ]),
        ),
      },
    },
  });
}

function requireAnswer(url: string, ca: string): Promise<void> {
  return new Promise((resolve, reject) => {
    request(`${url}/oauth/token/.well-known/openid-configuration`, { ca, timeout: 10_000 }, (answer) => {
      answer.resume();
      if (answer.statusCode === 200) resolve();
      else reject(new Error(`the UAA answers ${answer.statusCode}`));
    })
      .on("timeout", function (this: { destroy(error: Error): void }) {
        this.destroy(new Error("the UAA does not answer"));
      })
      .on("error", reject)
      .end();
  });
}
