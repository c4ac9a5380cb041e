const show = (value: any) => console.log(JSON.stringify(value));
show(mux.$parse('{"a": [1, null]}'));
show(mux.$parse('{"n": 1}\n{"n": 2}\n'));
show(mux.$parse(`{'name': "Mom's", 'x': None, 'ok': True, 'pair': (1, 2.5)}`));
show(mux.$parse("- id: 1\n  to: [a, b]\n  body: |\n    one\n    two\n- id: 2\n"));
show(mux.$parse('name,note\nAnn,"a, b"\nBob,\n'));
show(mux.$parse("id\tname\n007\tAnn\n"));
show(mux.$parse(""));
show(mux.$parse("[]").length);
show(mux.$parse([1, 2]));
show(mux.$parse("1,2\n3,4", "csv"));
show(mux.$parse("plain text", "yaml"));
// A member of the prototype, and the numbers that JSON rounds.
show(Object.keys(mux.$parse('{"__proto__": 1}')));
show(mux.$parse("{1: 'a', 12345678901234567890: 2}"));
return Object.getPrototypeOf(mux.$parse("a: 1\nb: 2")) === Object.prototype;
