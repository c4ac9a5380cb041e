// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly browser: Mux.Browser;
}

declare namespace Mux {
  /** The server `browser`. */
  interface Browser {
    open(args: {
      viewportWidth?: number;
      viewportHeight?: number;
      waitUntil?: "load" | "domcontentloaded" | "networkidle" | "commit" | "never";
      userAgentOverride?: string;
      extraHeaders?: { [key: string]: string };
      credentials: { userName: string; password: string; oneTimeCode?: string };
      permissions?: Array<"camera" | "microphone" | "geolocation" | "notifications">;
      url: string;
    }): Promise<{
      status?: number;
      headers?: Array<{ name?: string; value?: string }>;
      snapshot?: { html?: string; length?: number } | string | null;
      console?: string[];
      requests?: string[][];
      title?: string;
    }>;
    choose(args:
      | { selectorByAccessibleName: string; exact?: boolean }
      | { selectorByTestId: string; withinFrame?: string }): Promise<ToolText>;
    many(args?: {
      alternative_alternative_one?: Mux.Browser.many_Node;
      alternative_alternative_two?: Mux.Browser.many_Node;
    }): Promise<ToolText>;
  }

  namespace Browser {
    type many_Node = { next?: Mux.Browser.many_Node };
  }
}

// Signatures:
// browser.open(args: { viewportWidth?: number; viewportHeight?: number; waitUntil?: "load" | "domcontentloaded" | "networkidle" | …; userAgentOverride?: string; credentials: { userName: string; password: string; oneTimeCode?: string }; url: string; … }): Promise<{ status?: number; headers?: Array<{ name?: string; value?: string }>; console?: string[]; requests?: string[][]; … }>
// browser.choose(args: { selectorByAccessibleName: string; exact?: boolean } | { selectorByTestId: string; withinFrame?: string })
// browser.many(args?: { alternative_alternative_one?: Node; alternative_alternative_two?: Node })
