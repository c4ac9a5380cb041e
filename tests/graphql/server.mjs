// A GraphQL server over HTTP built with common libraries. The server prints its address, and writes every request to
// the journal.
//
//   server.mjs PACKAGES JOURNAL [closed] [old] [again] [TOKEN]
//
// closed: it does not tell its schema; old: it knows no word that is younger than 2018; again: its schema gives the root
// type again below the root; TOKEN: it wants this one.

import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";

const [packages, journal, ...options] = process.argv.slice(2);
const need = createRequire(`${packages}/package.json`);
const { buildSchema, NoSchemaIntrospectionCustomRule } = need("graphql");
const { createHandler } = need("graphql-http");

const closed = options.includes("closed");
const old = options.includes("old");
const again = options.includes("again");
const token = options.find((option) => !["closed", "old", "again"].includes(option));

const written = readFileSync(new URL("../data/graphql/blog.graphql", import.meta.url), "utf8");
const more = "extend type Query { query: Query! } extend type RenamePayload { query: Query }";
const schema = buildSchema(again ? written + more : written);

const users = [
  { __typename: "User", id: "1", name: "Ada", role: "ADMIN", joined: "2026-01-02T03:04:05Z" },
  { __typename: "User", id: "2", name: null, role: "READER", joined: null },
];
const posts = [
  { __typename: "Post", id: "p1", title: "On engines", by: "1", role: "draft" },
  { __typename: "Post", id: "p2", title: "On Ada", by: "2", role: null },
];

const post = (post) => ({ ...post, author: () => user(users.find((one) => one.id === post.by)) });
const user = (user) =>
  user && {
    ...user,
    posts: ({ last }) => posts.filter((one) => one.by === user.id).slice(last ? -last : 0).map(post),
    friends: () => users.filter((one) => one.id !== user.id).map(userOf),
    best: () => posts.filter((one) => one.by === user.id).map(post)[0],
    avatar: ({ size }) => `${user.id}@${size}`,
  };
const userOf = (one) => user(one);

const rootValue = {
  user: ({ id }) => user(users.find((one) => one.id === id)),
  users: ({ where }) =>
    users.filter((one) => !where?.role || one.role === where.role).slice(0, where?.limit ?? 5).map(userOf),
  found: ({ word }) => [
    ...users.filter((one) => one.name?.includes(word)).map(userOf),
    ...posts.filter((one) => one.title.includes(word)).map(post),
  ],
  node: ({ id }) => userOf(users.find((one) => one.id === id)) ?? posts.filter((one) => one.id === id).map(post)[0],
  posts: ({ first }) => ({
    total: posts.length,
    edges: posts.slice(0, first ?? posts.length).map((one) => ({ cursor: one.id, node: post(one) })),
  }),
  version: () => "1.0",
  broken: () => ({
    whole: 1,
    part: () => {
      throw new Error("this part is broken");
    },
  }),
  old: () => 0,
  rename: ({ input }) => {
    const one = users.find((one) => one.id === input.id);
    if (!one) throw new Error(`there is no user ${input.id}`);
    if (input.name !== undefined) one.name = input.name;
    return { user: user(one), query: rootValue };
  },
  query: () => rootValue,
  deletePost: ({ id }) => posts.some((one) => one.id === id),
  vanish: (_, { socket }) => {
    socket.destroy();
    return true;
  },
};

const handler = createHandler({
  schema,
  rootValue,
  context: (request) => ({ socket: request.raw.socket }),
  validationRules: closed ? [NoSchemaIntrospectionCustomRule] : [],
});

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const text = Buffer.concat(parts).toString();
    appendFileSync(journal, `${JSON.stringify({ method: request.method, headers: request.headers, text })}\n`);
    const refuse = (status, message) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ errors: [{ message }] }));
    };
    if (token && request.headers.authorization !== `Bearer ${token}`) return refuse(401, "who are you?");
    const young = /isOneOf|specifiedByURL|(args|inputFields)\(includeDeprecated/;
    if (old && young.test(text)) return refuse(400, "Cannot query field: this server is old");
    const { url, method, headers } = request;
    handler({ url, method, headers, body: text, raw: request, context: {} }).then(([body, init]) => {
      response.writeHead(init.status, init.statusText, init.headers);
      response.end(body);
    });
  });
});

server.listen(0, "127.0.0.1", () => console.log(`listening ${server.address().port}`));
