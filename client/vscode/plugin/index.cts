// A plugin of TypeScript's server: what is right in a program for muxd is no mistake in an editor.
//
// Invariant: nothing changes for any file that is no program.

/** As much of TypeScript as this needs. */
interface Diagnostic {
  code: number;
}
type LanguageService = Record<string, (...args: never[]) => unknown>;
interface CreateInfo {
  languageService: LanguageService;
}

/** "A 'return' statement can only be used within a function body": a program's result is what it returns. */
const RETURN = 1108;
const PROGRAM = ".mux.ts";

function create({ languageService: own }: CreateInfo): LanguageService {
  const service: LanguageService = Object.create(own) as LanguageService;
  for (const method of ["getSyntacticDiagnostics", "getSemanticDiagnostics"]) {
    service[method] = (...args: never[]) => {
      const found = own[method]?.(...args) as Diagnostic[];
      const file: unknown = args[0];
      if (typeof file !== "string" || !file.endsWith(PROGRAM)) return found;
      return found.filter((diagnostic) => diagnostic.code !== RETURN);
    };
  }
  return service;
}

export = () => ({ create });
