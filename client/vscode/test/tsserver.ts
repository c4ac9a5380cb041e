// TypeScript's own server, as editors speak to it: a line of JSON for each request, and answers in any order.

import { type ChildProcess, spawn } from "node:child_process";

interface Message {
  type: string;
  request_seq?: number;
  success?: boolean;
  message?: string;
  body?: unknown;
}

export class TypeScriptServer {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, { resolve(body: never): void; reject(error: Error): void }>();
  #next = 1;
  #text = "";

  /** `plugins`: where the plugins are found that are named. */
  constructor(script: string, plugins: { from: string; names: string[] }) {
    const args = [script, "--disableAutomaticTypingAcquisition", "--globalPlugins", plugins.names.join()];
    this.#process = spawn(process.execPath, [...args, "--pluginProbeLocations", plugins.from], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#process.stdout?.setEncoding("utf8").on("data", (piece: string) => this.#read(piece));
    this.#process.on("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("TypeScript's server has ended"));
    });
  }

  /** One that is not answered. */
  tell(command: string, args: object): void {
    this.#send(this.#next++, command, args);
  }

  ask<T>(command: string, args: object): Promise<T> {
    const seq = this.#next++;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(seq, { resolve, reject });
      this.#send(seq, command, args);
    });
  }

  close(): void {
    this.#process.kill();
  }

  #send(seq: number, command: string, args: object): void {
    this.#process.stdin?.write(`${JSON.stringify({ seq, type: "request", command, arguments: args })}\n`);
  }

  /** Each message stands on a line of its own, between headers. */
  #read(piece: string): void {
    this.#text += piece;
    for (let end = this.#text.indexOf("\n"); end >= 0; end = this.#text.indexOf("\n")) {
      const line = this.#text.slice(0, end).trim();
      this.#text = this.#text.slice(end + 1);
      if (!line.startsWith("{")) continue;
      const { type, request_seq = 0, success, message, body } = JSON.parse(line) as Message;
      if (type !== "response") continue;
      const waiting = this.#waiting.get(request_seq);
      this.#waiting.delete(request_seq);
      if (success) waiting?.resolve(body as never);
      else waiting?.reject(new Error(message));
    }
  }
}
