// Apps of Go, Java, Ruby and PHP, and static sites, in the shapes that people have.
import type { SourceApp } from "./app.ts";

const goServer = `package main\n\nimport (\n\t"fmt"\n\t"net/http"\n\t"os"\n)\n\nfunc main() {\n\thttp.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ONE") })\n\thttp.ListenAndServe(os.Getenv("HOST")+":"+os.Getenv("PORT"), nil)\n}\n`;

const goRoot: SourceApp = {
  name: "go",
  needs: ["go"],
  files: { "go.mod": "module example.com/shop\n\ngo 1.22\n", "main.go": goServer },
  says: /Go 1\.\d+\S* \(example.com\/shop\); builds \./,
  inCI: true,
  inPods: true,
};

const goCmd: SourceApp = {
  name: "go-cmd",
  needs: ["go"],
  files: {
    "go.mod": "module example.com/shop\n\ngo 1.22\n",
    "cmd/web/main.go": goServer,
    "cmd/migrate/main.go": "package main\n\nfunc main() {}\n",
  },
  says: /builds \.\/cmd\/web, \.\/cmd\/migrate/,
};

const goModules: SourceApp = {
  name: "go-modules",
  needs: ["go"],
  files: {
    "go.mod": "module example.com/shop\n\ngo 1.22\n\nrequire github.com/google/uuid v1.6.0\n",
    "go.sum":
      "github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=\ngithub.com/google/uuid v1.6.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=\n",
    "main.go": goServer
      .replace('\t"os"\n', '\t"os"\n\n\t"github.com/google/uuid"\n')
      .replace('"ONE"', '"ONE "+uuid.NewString()'),
  },
  says: /go build \./,
};

const javaServer = `import com.sun.net.httpserver.HttpServer;\nimport java.net.InetSocketAddress;\n\npublic class Main {\n  public static void main(String[] args) throws Exception {\n    HttpServer server = HttpServer.create(new InetSocketAddress(System.getenv().getOrDefault("HOST", "0.0.0.0"), Integer.parseInt(System.getenv("PORT"))), 0);\n    server.createContext("/", exchange -> {\n      byte[] body = "ONE".getBytes();\n      exchange.sendResponseHeaders(200, body.length);\n      exchange.getResponseBody().write(body);\n      exchange.close();\n    });\n    server.start();\n  }\n}\n`;

const jar: SourceApp = {
  name: "java-jar",
  needs: ["javac", "jar"],
  files: { "Main.java": javaServer },
  prepare: [
    ["javac", "--release", "17", "-d", "classes", "Main.java"],
    ["jar", "--create", "--file", "app.jar", "--main-class", "Main", "-C", "classes", "."],
  ],
  prepareAgain: true,
  path: "app.jar",
  manifest: { memory: "256M" },
  says: /a jar as it is[^]*Starts by exec java -cp \. Main/,
  inPods: true,
};

const maven: SourceApp = {
  name: "maven",
  needs: ["mvn"],
  files: {
    "pom.xml": `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId>
  <artifactId>shop</artifactId>
  <version>1.0.0</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <build>
    <plugins>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-jar-plugin</artifactId>
        <version>3.4.2</version>
        <configuration><archive><manifest><mainClass>Main</mainClass></manifest></archive></configuration>
      </plugin>
    </plugins>
  </build>
</project>
`,
    "src/main/java/Main.java": javaServer,
  },
  manifest: { memory: "256M" },
  says: /Maven by pom.xml[^]*mvn -DskipTests package[^]*java -jar target\/shop-1.0.0.jar/,
};

/** As its generator makes it: nothing names a port. */
const springBoot: SourceApp = {
  name: "spring-boot",
  needs: ["mvn"],
  files: {
    "pom.xml": `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <parent>
    <groupId>org.springframework.boot</groupId>
    <artifactId>spring-boot-starter-parent</artifactId>
    <version>4.1.2</version>
    <relativePath/>
  </parent>
  <groupId>com.example</groupId>
  <artifactId>demo</artifactId>
  <version>0.0.1-SNAPSHOT</version>
  <properties><java.version>17</java.version></properties>
  <dependencies>
    <dependency>
      <groupId>org.springframework.boot</groupId>
      <artifactId>spring-boot-starter-webmvc</artifactId>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin>
        <groupId>org.springframework.boot</groupId>
        <artifactId>spring-boot-maven-plugin</artifactId>
      </plugin>
    </plugins>
  </build>
</project>
`,
    "src/main/java/com/example/demo/DemoApplication.java": `package com.example.demo;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
@SpringBootApplication
public class DemoApplication {
  public static void main(String[] args) {
    SpringApplication.run(DemoApplication.class, args);
  }

  @GetMapping("/")
  String hello() {
    return "ONE";
  }
}
`,
  },
  manifest: { memory: "512M" },
  says: /Maven by pom.xml[^]*java -jar target\/demo-0.0.1-SNAPSHOT.jar/,
};

const gradle: SourceApp = {
  name: "gradle",
  needs: ["gradle"],
  whyMissing: "no registry that CI reaches has Gradle's distribution",
  files: {
    "settings.gradle": 'rootProject.name = "shop"\n',
    "build.gradle": "plugins { id 'application' }\napplication { mainClass = 'Main' }\n",
    "src/main/java/Main.java": javaServer,
  },
  manifest: { memory: "256M" },
  says: /Gradle by build.gradle[^]*build\/install\/shop\/bin\/shop/,
};

const rack: SourceApp = {
  name: "rack",
  needs: ["ruby", "puma"],
  files: { "config.ru": 'run ->(env) { [200, { "content-type" => "text/plain" }, ["ONE"]] }\n' },
  says: /Starts Rack with puma/,
};

const sinatra: SourceApp = {
  name: "sinatra",
  needs: ["ruby", "bundle"],
  whyMissing: "no registry that CI reaches has gems",
  files: {
    Gemfile: 'source "https://rubygems.org"\ngem "sinatra"\ngem "rackup"\ngem "puma"\n',
    "config.ru": 'require "sinatra"\nget("/") { "ONE" }\nrun Sinatra::Application\n',
  },
  says: /bundle install[^]*Starts Rack/,
};

const php: SourceApp = {
  name: "php",
  needs: ["php"],
  files: { "public/index.php": '<?php echo "ONE";\n' },
  says: /Serves public with/,
};

const staticSite: SourceApp = {
  name: "static",
  files: { "index.html": "<!doctype html><p>ONE</p>\n", "style.css": "p { color: teal }\n" },
  says: /Static files: index.html; serves the app's folder/,
  inCI: true,
  inPods: true,
};

const spa: SourceApp = {
  name: "spa",
  files: {
    Staticfile: "root: dist\npushstate: enabled\nforce_https: true\n",
    "dist/index.html": "<!doctype html><p>ONE</p>\n",
  },
  at: "/orders/17",
  says: /Static files: Staticfile; serves dist; index.html where there is no file/,
};

const procfile: SourceApp = {
  name: "procfile",
  needs: ["python3"],
  files: {
    Procfile: "web: python3 -m http.server $PORT --bind ${HOST:-0.0.0.0} --directory pages\n",
    "pages/index.html": "ONE\n",
  },
  says: /Procfile: web/,
};

export const otherApps: readonly SourceApp[] = [
  goRoot,
  goCmd,
  goModules,
  jar,
  maven,
  springBoot,
  gradle,
  rack,
  sinatra,
  php,
  staticSite,
  spa,
  procfile,
];
