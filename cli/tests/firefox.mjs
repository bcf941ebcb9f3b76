// Loads a profile into the Firefox Profiler's own code and prints what it knows of each
// thread: node firefox.mjs PROFILE. What it leaves is below HOME, where nothing may be left.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const profiler = fileURLToPath(import.meta.resolve("@firefox-devtools/profiler-cli"));
const session = ["--session", "test"];
const ask = (...request) =>
  execFileSync(process.execPath, [profiler, ...request, ...session], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });

// Its own `load` gives up after half a second, which is nothing on a busy machine.
const daemon = spawn(process.execPath, [profiler, "--daemon", process.argv[2], ...session], {
  stdio: ["ignore", "ignore", "inherit"],
});
const ended = once(daemon, "exit");

try {
  // The last file that it makes before it listens; who asks earlier takes the session for
  // one that died, and removes its files.
  while (!existsSync(`${process.env.HOME}/.profiler-cli/current.txt`)) {
    if (daemon.exitCode !== null) throw new Error("the Firefox Profiler does not start");
    await setTimeout(50);
  }
  const { threads } = JSON.parse(ask("thread", "list", "--json"));
  const known = threads.map(({ threadHandle, name, cpuMs }) => {
    const of = ["--thread", threadHandle, "--limit", "0", "--json"];
    const { functions } = JSON.parse(ask("thread", "functions", ...of));
    return { name, cpuMs, functions };
  });
  console.log(JSON.stringify(known));
} finally {
  daemon.kill();
  await ended;
}
