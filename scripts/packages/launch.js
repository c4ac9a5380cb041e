// Starts a program of muxd from the package of this platform. No dependencies; Node 18 or newer.
"use strict";
const { spawn } = require("child_process");
const { dirname, join } = require("path");
const { name, version, optionalDependencies } = require("./package.json");

const platform = `${process.platform}-${process.arch}`;
const packageName = `${name}-${platform}`;

/** Runs `program` in place of this process, or ends as it ends. */
module.exports = function launch(program) {
  const path = locate(program);
  const args = process.argv.slice(2);
  if (typeof process.execve === "function") {
    // Node prints a warning because the function is new; the program's standard error must stay its own.
    process.removeAllListeners("warning");
    process.emitWarning = () => {};
    process.execve(path, [path, ...args], process.env);
  }
  const child = spawn(path, args, { stdio: "inherit" });
  child.on("error", (error) => refuse(`cannot start ${path}: ${error.message}`));
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2"]) {
    // A terminal sends these two to the program itself.
    const isFromTerminal = (signal === "SIGINT" || signal === "SIGQUIT") && process.stdin.isTTY;
    process.on(signal, () => isFromTerminal || child.kill(signal));
  }
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    // Ends by the same signal, so that the caller sees what happened.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
};

function locate(program) {
  if (!(packageName in optionalDependencies)) {
    const built = Object.keys(optionalDependencies).map((built) => built.slice(name.length + 1));
    const otherwise = process.platform === "win32"
      ? "On Windows, install it inside WSL."
      : "Build it from source with cargo: docs/install.md in the sources describes it.";
    refuse(`muxd ${version} is not built for ${platform}, only for ${built.join(", ")}. ${otherwise}`);
  }
  try {
    return join(dirname(require.resolve(`${packageName}/package.json`)), "bin", program);
  } catch {
    const isMusl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
    refuse(isMusl
      ? `muxd ${version} needs glibc, and this system has musl. Build it from source with cargo: docs/install.md in the sources describes it.`
      : `the package ${packageName} is missing: npm leaves it out with --omit=optional or --no-optional, and when node_modules was copied from another platform. Install ${name} again without these, or use install.sh, the wheel or the Debian package of muxd.`);
  }
}

function refuse(message) {
  console.error(`${name}: ${message}`);
  process.exit(1);
}
