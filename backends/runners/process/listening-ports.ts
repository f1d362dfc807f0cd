// The TCP ports that an instance's processes listen on, by /proc: an app that ignores PORT is told which one it took.
import { readdir, readFile, readlink } from "node:fs/promises";
import { listMembers, readProcesses } from "../../host/process-table.ts";

/** Ports in order; none on other systems than Linux. Processes that end meanwhile, or are another user's, are left out. */
export async function findListeningPorts(leader: number): Promise<number[]> {
  if (process.platform !== "linux") return [];
  const members = listMembers(await readProcesses(), leader);
  const [inodes, sockets] = await Promise.all([
    Promise.all(members.map(({ pid }) => readSocketInodes(pid))),
    Promise.all(["tcp", "tcp6"].map((table) => readText(`/proc/${leader}/net/${table}`))),
  ]);
  const own = new Set(inodes.flat());
  const ports = sockets.flatMap(parseListening).flatMap(({ port, inode }) => (own.has(inode) ? [port] : []));
  return [...new Set(ports)].sort((one, other) => one - other);
}

const LISTEN = "0A";

/** The listening sockets of a table such as /proc/net/tcp. */
export function parseListening(table: string): { port: number; inode: string }[] {
  return table.split("\n").flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    const port = Number.parseInt(local?.split(":")[1] ?? "", 16);
    return state === LISTEN && inode !== undefined && Number.isInteger(port) ? [{ port, inode }] : [];
  });
}

async function readSocketInodes(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => "")));
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}

function readText(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
