// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

// "delete" is not offered: the name is given twice.
// "search" is not offered: the name is taken by a built-in.
// "a.b" is not offered: not a name for a server.
// "\n*\/ \"" is not offered: not a name for a server.

interface Mux {
  // "x-y", "x_y" share an identifier: only their exact names work.
  readonly my_server: Mux.My_server;
  readonly "my-server": Mux.My_server;
  readonly twins: Mux.Twins;
  readonly "x-y": Mux.X_y;
  readonly "x_y": Mux.X_y_2;
  readonly promise: Mux.Promise_;
  readonly delete: Mux.Delete;
  readonly Delete: Mux.Delete_2;
}

declare namespace Mux {
  /** The server `my-server`. */
  interface My_server {
    /** One thing */
    get_thing(args: { id: string }): Promise<ToolText>;
    readonly "get-thing": Mux.My_server["get_thing"];
    readonly repos: Mux.My_server_repos;
    _2fa(args?: { [key: string]: unknown }): Promise<ToolText>;
    readonly "2fa": Mux.My_server["_2fa"];
    "new"(args?: { [key: string]: unknown }): Promise<ToolText>;
    constructor(args?: { [key: string]: unknown }): Promise<ToolText>;
    delete(args?: { [key: string]: unknown }): Promise<ToolText>;
    __proto__(args?: { [key: string]: unknown }): Promise<ToolText>;
    gr_e(args?: { [key: string]: unknown }): Promise<ToolText>;
    readonly "größe": Mux.My_server["gr_e"];
    _evil_(args: Mux.My_server._evil__Args): Promise<ToolText>;
    readonly "*/ evil \u202e": Mux.My_server["_evil_"];
    readonly [name: `${string}.${string}`]: any;
  }

  interface My_server_repos {
    get(args?: {
      "content-type"?: unknown;
      "1st"?: unknown;
      new?: unknown;
      "a\"b\\\u2028\u202e\n"?: string;
    }): Promise<ToolText>;
  }

  namespace My_server {
    type _evil__Args = Mux.My_server._evil__A;
    type _evil__A = Mux.My_server._evil__Args[];
  }

  /** The server `twins`. */
  interface Twins {
    // "a-b", "a_b" share an identifier: only their exact names work.
    "a-b"(args?: Mux.Twins.a_b_Args): Promise<ToolText>;
    "a_b"(args?: Mux.Twins.a_b_Args_2): Promise<ToolText>;
    c(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  namespace Twins {
    type a_b_Args = { next?: Mux.Twins.a_b_Args };
    type a_b_Args_2 = { next?: Mux.Twins.a_b_Args_2 };
  }

  /** The server `x-y`. */
  interface X_y {
    t(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  /** The server `x_y`. */
  interface X_y_2 {
    t(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  /** The server `promise`. */
  interface Promise_ {
    t(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  /** The server `delete`. */
  interface Delete {
    t(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  /** The server `Delete`. */
  interface Delete_2 {
    t(args?: { [key: string]: unknown }): Promise<ToolText>;
  }
}

// Signatures:
// my_server.get_thing(args: { id: string })
// my_server.repos.get(args?: { "content-type"?: unknown; "1st"?: unknown; new?: unknown; "a\"b\\\u2028\u202e\n"?: string })
// my_server._2fa(args?: { [key: string]: unknown })
// my_server.new(args?: { [key: string]: unknown })
// my_server.constructor(args?: { [key: string]: unknown })
// my_server.delete(args?: { [key: string]: unknown })
// my_server.__proto__(args?: { [key: string]: unknown })
// my_server.gr_e(args?: { [key: string]: unknown })
// my_server._evil_(args: A)
// twins.a_b(args?: { next?: Args })
// twins.a_b(args?: { next?: Args })
// twins.a_b(args?: { [key: string]: unknown })
// twins.c(args?: { [key: string]: unknown })
// x_y.t(args?: { [key: string]: unknown })
// x_y.t(args?: { [key: string]: unknown })
// promise.t(args?: { [key: string]: unknown })
// delete.t(args?: { [key: string]: unknown })
// Delete.t(args?: { [key: string]: unknown })
// delete.t(args?: { [key: string]: unknown })
// search.t(args?: { [key: string]: unknown })
// a.b.t(args?: { [key: string]: unknown })
// _.t(args?: { [key: string]: unknown })

// Alone:
// /** One thing */
// mux.my_server.get_thing(args: { id: string });
// // also mux["my-server"]["get-thing"]

// Alone:
// mux.my_server.repos.get(args?: {
//   "content-type"?: unknown;
//   "1st"?: unknown;
//   new?: unknown;
//   "a\"b\\\u2028\u202e\n"?: string;
// });
// // also mux["my-server"]["repos.get"]

// Alone:
// mux.my_server._2fa(args?: { [key: string]: unknown });
// // also mux["my-server"]["2fa"]

// Alone:
// mux.my_server.new(args?: { [key: string]: unknown });
// // also mux["my-server"]["new"]

// Alone:
// mux.my_server.constructor(args?: { [key: string]: unknown });
// // also mux["my-server"]["constructor"]

// Alone:
// mux.my_server.delete(args?: { [key: string]: unknown });
// // also mux["my-server"]["delete"]

// Alone:
// mux.my_server.__proto__(args?: { [key: string]: unknown });
// // also mux["my-server"]["__proto__"]

// Alone:
// mux.my_server.gr_e(args?: { [key: string]: unknown });
// // also mux["my-server"]["größe"]

// Alone:
// mux.my_server._evil_(args: Mux.My_server._evil__Args);
// // also mux["my-server"]["*/ evil \u202e"]
//
// declare namespace Mux.My_server {
//   type _evil__Args = Mux.My_server._evil__A;
//   type _evil__A = Mux.My_server._evil__Args[];
// }

// Alone:
// mux.twins.a_b(args?: Mux.Twins.a_b_Args);
// // also mux["twins"]["a-b"]
//
// declare namespace Mux.Twins {
//   type a_b_Args = { next?: Mux.Twins.a_b_Args };
// }

// Alone:
// mux.twins.a_b(args?: Mux.Twins.a_b_Args);
//
// declare namespace Mux.Twins {
//   type a_b_Args = { next?: Mux.Twins.a_b_Args };
// }

// Alone:
// /** A repetition is left out */
// mux.twins.a_b(args?: { [key: string]: unknown });
// // also mux["twins"]["a-b"]

// Alone:
// mux.twins.c(args?: { [key: string]: unknown });

// Alone:
// mux.x_y.t(args?: { [key: string]: unknown });
// // also mux["x-y"]["t"]

// Alone:
// mux.x_y.t(args?: { [key: string]: unknown });

// Alone:
// mux.promise.t(args?: { [key: string]: unknown });

// Alone:
// mux.delete.t(args?: { [key: string]: unknown });

// Alone:
// mux.Delete.t(args?: { [key: string]: unknown });

// Alone:
// mux.delete.t(args?: { [key: string]: unknown });

// Alone:
// mux.search.t(args?: { [key: string]: unknown });

// Alone:
// mux.a.b.t(args?: { [key: string]: unknown });

// Alone:
// mux._.t(args?: { [key: string]: unknown });
// // also mux["\n*/ \""]["t"]
