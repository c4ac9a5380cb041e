const url = new URL("../b?x=1&y=a+b#frag", ["https://user", "pw@example.com:8443/a/c/"].join(":"));
url.searchParams.append("z", "é &");
url.port = "443";
url.hash = "";
return {
  href: url.href,
  parts: [url.protocol, url.username, url.host, url.port, url.pathname, url.search, url.origin],
  params: [...url.searchParams],
  sorted: (() => { const p = new URLSearchParams({ b: "2", a: "1" }); p.sort(); return p.toString(); })(),
  can: [URL.canParse("x"), URL.canParse("/x", "https://a"), URL.parse("nope")],
  json: JSON.stringify({ url }),
  thrown: (() => { try { new URL("not a url"); } catch (error) { return `${error.name}: ${error.message}`; } })(),
};
