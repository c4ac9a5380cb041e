// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly petstore: Mux.Petstore;
  readonly my_repos: Mux.My_repos;
  readonly "my-repos": Mux.My_repos;
  readonly twins: Mux.Twins;
  readonly twins_a: Mux.Twins_a;
  readonly anyTool: Mux.AnyTool_;
}

declare namespace Mux {
  /** The server `petstore`. */
  interface Petstore {
    readonly pet: Mux.Petstore_pet;
    readonly store: Mux.Petstore_store;
    ping(args?: { [key: string]: unknown }): Promise<ToolText>;
    readonly [name: `${string}.${string}`]: any;
  }

  interface Petstore_pet {
    /** Find a pet by its id */
    getPetById(args: { petId: number }): Promise<{ id?: number; name: string }>;
    findByStatus(args?: { status?: "available" | "sold" }): Promise<ToolText>;
  }

  interface Petstore_store {
    readonly order: Mux.Petstore_store_order;
    inventory(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  interface Petstore_store_order {
    get(args?: { [key: string]: unknown }): Promise<ToolText>;
    place(args?: Mux.Petstore.store_order_place_Args): Promise<ToolText>;
  }

  namespace Petstore {
    type store_order_place_Args = { next?: Mux.Petstore.store_order_place_Args };
  }

  /** The server `my-repos`. */
  interface My_repos {
    readonly repos: Mux.My_repos_repos;
    readonly user_data: Mux.My_repos_user_data;
    readonly "user-data": Mux.My_repos["user_data"];
    readonly new: Mux.My_repos_new;
    then_(args?: { [key: string]: unknown }): Promise<ToolText>;
    readonly a: Mux.My_repos_a;
    readonly constructor: Mux.My_repos_constructor;
    readonly name: Mux.My_repos_name;
    readonly [name: `${string}.${string}`]: any;
  }

  interface My_repos_repos {
    /** A group that can be called */
    (args?: { all?: boolean }): Promise<ToolText>;
    list_all(args?: { [key: string]: unknown }): Promise<ToolText>;
    readonly "list-all": Mux.My_repos_repos["list_all"];
  }

  interface My_repos_user_data {
    get(args?: { [key: string]: unknown }): Promise<ToolText>;
    put(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  interface My_repos_new {
    "new"(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  interface My_repos_a {
    toJSON_(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  interface My_repos_constructor {
    __proto__(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  interface My_repos_name {
    readonly call: Mux.My_repos_name_call;
  }

  interface My_repos_name_call {
    bind(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  /** The server `twins`. */
  interface Twins {
    // "a.b-c", "a.b_c" share an identifier: only their exact names work.
    // "a_b", "a..b" share an identifier: only their exact names work.
    "a.b-c"(args?: { [key: string]: unknown }): Promise<ToolText>;
    readonly a: Mux.Twins_a_2;
    readonly "a_b": Mux.Twins_a_b;
    "a..b"(args?: { [key: string]: unknown }): Promise<ToolText>;
    _x(args?: { [key: string]: unknown }): Promise<ToolText>;
    readonly ".x": Mux.Twins["_x"];
    y_(args?: { [key: string]: unknown }): Promise<ToolText>;
    readonly "y.": Mux.Twins["y_"];
    readonly [name: `${string}.${string}`]: any;
  }

  interface Twins_a_2 {
    "b_c"(args?: { [key: string]: unknown }): Promise<ToolText>;
    b(args?: Mux.Twins.a_b_Args): Promise<ToolText>;
  }

  interface Twins_a_b {
    (args?: { [key: string]: unknown }): Promise<ToolText>;
    c(args?: Mux.Twins.a_b_c_Args): Promise<ToolText>;
  }

  namespace Twins {
    type a_b_Args = { next?: Mux.Twins.a_b_Args };
    type a_b_c_Args = { next?: Mux.Twins.a_b_c_Args };
  }

  /** The server `twins_a`. */
  interface Twins_a {
    t(args?: { [key: string]: unknown }): Promise<ToolText>;
  }

  /** The server `anyTool`. Note: not connected */
  interface AnyTool_ {
    // Its tools are currently unknown; calls fail with the reason.
    readonly [tool: string]: AnyTool;
  }
}

// Signatures:
// petstore.pet.getPetById(args: { petId: number }): Promise<{ id?: number; name: string }>
// petstore.store.order.get(args?: { [key: string]: unknown })
// petstore.pet.findByStatus(args?: { status?: "available" | "sold" })
// petstore.ping(args?: { [key: string]: unknown })
// petstore.store.order.place(args?: { next?: Args })
// petstore.store.inventory(args?: { [key: string]: unknown })
// my_repos.repos(args?: { all?: boolean })
// my_repos.repos.list_all(args?: { [key: string]: unknown })
// my_repos.user_data.get(args?: { [key: string]: unknown })
// my_repos.user_data.put(args?: { [key: string]: unknown })
// my_repos.new.new(args?: { [key: string]: unknown })
// my_repos.then_(args?: { [key: string]: unknown })
// my_repos.a.toJSON_(args?: { [key: string]: unknown })
// my_repos.constructor.__proto__(args?: { [key: string]: unknown })
// my_repos.name.call.bind(args?: { [key: string]: unknown })
// twins.a.b_c(args?: { [key: string]: unknown })
// twins.a.b_c(args?: { [key: string]: unknown })
// twins.a_b(args?: { [key: string]: unknown })
// twins.a.b(args?: { next?: Args })
// twins.a_b.c(args?: { next?: Args })
// twins.a_b(args?: { [key: string]: unknown })
// twins._x(args?: { [key: string]: unknown })
// twins.y_(args?: { [key: string]: unknown })
// twins_a.t(args?: { [key: string]: unknown })

// Alone:
// /** Find a pet by its id */
// mux.petstore.pet.getPetById(args: { petId: number }): Promise<{ id?: number; name: string }>;

// Alone:
// mux.petstore.store.order.get(args?: { [key: string]: unknown });

// Alone:
// mux.petstore.pet.findByStatus(args?: { status?: "available" | "sold" });

// Alone:
// mux.petstore.ping(args?: { [key: string]: unknown });

// Alone:
// mux.petstore.store.order.place(args?: Mux.Petstore.store_order_place_Args);
//
// declare namespace Mux.Petstore {
//   type store_order_place_Args = { next?: Mux.Petstore.store_order_place_Args };
// }

// Alone:
// mux.petstore.store.inventory(args?: { [key: string]: unknown });

// Alone:
// /** A group that can be called */
// mux.my_repos.repos(args?: { all?: boolean });
// // also mux["my-repos"]["repos"]

// Alone:
// mux.my_repos.repos.list_all(args?: { [key: string]: unknown });
// // also mux["my-repos"]["repos.list-all"]

// Alone:
// mux.my_repos.user_data.get(args?: { [key: string]: unknown });
// // also mux["my-repos"]["user-data.get"]

// Alone:
// mux.my_repos.user_data.put(args?: { [key: string]: unknown });
// // also mux["my-repos"]["user_data.put"]

// Alone:
// mux.my_repos.new.new(args?: { [key: string]: unknown });
// // also mux["my-repos"]["new.new"]

// Alone:
// mux.my_repos.then_(args?: { [key: string]: unknown });
// // also mux["my-repos.then"]

// Alone:
// mux.my_repos.a.toJSON_(args?: { [key: string]: unknown });
// // also mux["my-repos"]["a.toJSON"]

// Alone:
// mux.my_repos.constructor.__proto__(args?: { [key: string]: unknown });
// // also mux["my-repos"]["constructor.__proto__"]

// Alone:
// mux.my_repos.name.call.bind(args?: { [key: string]: unknown });
// // also mux["my-repos"]["name.call.bind"]

// Alone:
// mux.twins.a.b_c(args?: { [key: string]: unknown });
// // also mux["twins"]["a.b-c"]

// Alone:
// mux.twins.a.b_c(args?: { [key: string]: unknown });

// Alone:
// mux.twins.a_b(args?: { [key: string]: unknown });

// Alone:
// mux.twins.a.b(args?: Mux.Twins.a_b_Args);
//
// declare namespace Mux.Twins {
//   type a_b_Args = { next?: Mux.Twins.a_b_Args };
// }

// Alone:
// mux.twins.a_b.c(args?: Mux.Twins.a_b_c_Args);
//
// declare namespace Mux.Twins {
//   type a_b_c_Args = { next?: Mux.Twins.a_b_c_Args };
// }

// Alone:
// mux.twins.a_b(args?: { [key: string]: unknown });
// // also mux["twins"]["a..b"]

// Alone:
// mux.twins._x(args?: { [key: string]: unknown });
// // also mux["twins"][".x"]

// Alone:
// mux.twins.y_(args?: { [key: string]: unknown });
// // also mux["twins"]["y."]

// Alone:
// mux.twins_a.t(args?: { [key: string]: unknown });
