// Makes the page out of descriptions of it, and changes only what is other than before, so that a selection, the
// focus and what somebody types survive.
//
// Invariant: strings become text, never markup. A link leads to a view of this page. `away` is the only exception, and
// it takes nothing but http and https addresses.

// h("a", { href: "#/runs", class: "quiet" }, "runs", [more]): an element. `key` names it among its siblings.
export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, key: props?.key, children };
}

// Makes the children of an element these.
export function draw(parent, children) {
  const keyed = new Map();
  for (const child of parent.childNodes) {
    if (child.muxKey !== undefined) keyed.set(child.muxKey, child);
  }
  let at = parent.firstChild;
  for (const next of flat(children)) {
    const node = typeof next === "object" ? element(parent, at, next, keyed) : text(parent, at, String(next));
    at = node.nextSibling;
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function* flat(children) {
  if (Array.isArray(children)) {
    for (const child of children) yield* flat(child);
  } else if (children !== null && children !== undefined && children !== false && children !== "") {
    yield children;
  }
}

function text(parent, at, data) {
  if (at?.nodeType === Node.TEXT_NODE) {
    if (at.data !== data) at.data = data;
    return at;
  }
  return parent.insertBefore(document.createTextNode(data), at);
}

function element(parent, at, next, keyed) {
  const old = next.key === undefined ? unnamed(at, next.tag) : keyed.get(next.key);
  const node = old?.muxTag === next.tag ? old : document.createElement(next.tag);
  if (node !== old) {
    node.muxTag = next.tag;
    node.muxKey = next.key;
  }
  if (node === old && next.key === undefined) at = cleared(at, node);
  if (node !== at) parent.insertBefore(node, at);
  dress(node, node.muxProps ?? {}, next.props);
  node.muxProps = next.props;
  if (next.tag !== "input" && next.tag !== "textarea") draw(node, next.children);
  // A choice can be set once its options are there.
  if (next.tag === "select" && next.props.value !== undefined && node.value !== next.props.value) node.value = next.props.value;
  return node;
}

// What stands before it is not wanted any more, and goes, so that this one need not move: a field that moves loses
// the focus.
function cleared(at, node) {
  while (at !== node) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
  return node;
}

// The next element of this kind, unless one with a name stands before it, which may be wanted.
function unnamed(at, tag) {
  let found = at;
  while (found && (found.muxTag !== tag || found.muxKey !== undefined)) {
    if (found.muxKey !== undefined) return undefined;
    found = found.nextSibling;
  }
  return found;
}

function dress(node, before, props) {
  for (const name of Object.keys(before)) {
    if (!(name in props)) set(node, name, undefined);
  }
  for (const [name, value] of Object.entries(props)) {
    if (name === "style") {
      for (const [rule, said] of Object.entries(value)) {
        if (before.style?.[rule] !== said) node.style.setProperty(rule, said);
      }
    } else if (before[name] !== value) {
      set(node, name, value);
    }
  }
}

const PROPERTIES = new Set(["disabled", "hidden", "checked", "value", "open"]);

function set(node, name, value) {
  if (name === "key") return;
  if (name.startsWith("on")) {
    node[name] = value ?? null;
  } else if (PROPERTIES.has(name)) {
    node[name] = value ?? (name === "value" ? "" : false);
  } else if (name === "away") {
    if (!/^https?:$/.test(new URL(value).protocol)) throw new Error("a link leads to no web address");
    node.setAttribute("href", value);
  } else if (name === "href" && value !== undefined && !value.startsWith("#/")) {
    throw new Error("a link leads out of the page");
  } else if (value === undefined || value === null || value === false) {
    node.removeAttribute(name === "class" ? "class" : name);
  } else {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}
