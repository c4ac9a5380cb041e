// ---- unknown_argument
return (await mux.github.list_issues({ owner: "acme", repo: "app", status: "open" })).total;
// ---- unknown_argument_with_a_typo
return (await mux.github.list_issues({ owner: "acme", repo: "app", per_pge: 5 })).total;
// ---- argument_in_camel_case
return (await mux.github.list_issues({ owner: "acme", repo: "app", perPage: 5 })).total;
// ---- argument_of_another_service
return (await mux.calendar.create_event({ summary: "Call", start: "2026-03-05T10:00:00Z", end: "2026-03-05T10:30:00Z" })).id;
// ---- renamed_required_argument
return (await mux.github.get_issue({ owner: "acme", repo: "app", issue_number: 1 })).title;
// ---- repository_in_one_argument
return (await mux.github.list_issues({ repository: "acme/app" })).total;
// ---- two_unknown_arguments
return (await mux.mail.send({ recipient: "ada@example.com", title: "Hi", body: "x" })).sent;
// ---- unknown_argument_in_a_helper
const list = async (page: number) => (await mux.github.list_issues({ owner: "acme", repo: "app", pageNumber: page })).issues;
return (await list(1)).length;
// ---- unknown_argument_in_a_loop
for (const id of ["m1", "m2"]) {
  await mux.mail.mark({ id, read: true });
}
// ---- unknown_argument_beside_a_spread
const where = { owner: "acme", repo: "app" };
return (await mux.github.list_issues({ ...where, filter: "open" })).total;
// ---- unknown_nested_argument
return await mux.calendar.create_event({
  title: "Call",
  start: "2026-03-05T10:00:00Z",
  end: "2026-03-05T10:30:00Z",
  reminders: [{ method: "popup", minutes: 10, repeat: 2 }],
});
// ---- misspelled_nested_argument
return await mux.calendar.create_event({
  title: "Call",
  start: "2026-03-05T10:00:00Z",
  end: "2026-03-05T10:30:00Z",
  reminders: [{ method: "email", minute: 10 }],
});
// ---- unknown_argument_through_a_constant
const mail = mux.mail;
return (await mail.search({ query: "a", max: 5 })).messages.length;
// ---- unknown_argument_of_a_destructured_tool
const { geocode } = mux.maps;
return await geocode({ adress: "Main Street 1" });
// ---- no_arguments
return (await mux.github.list_issues()).total;
// ---- no_arguments_in_a_promise_all
const [a, b] = await Promise.all([mux.bank.accounts(), mux.bank.transactions()]);
return [a, b];
// ---- missing_argument
return (await mux.github.list_issues({ owner: "acme" })).total;
// ---- missing_argument_of_an_open_schema
return (await mux.web.fetch({ format: "html" })).length;
// ---- empty_arguments
return (await mux.tasks.stats({})).total;
// ---- missing_two_arguments
return (await mux.bank.transfer({ from: "a1", to: "a2" })).status;
// ---- missing_nested_argument
return await mux.calendar.create_event({
  title: "Call",
  start: "2026-03-05T10:00:00Z",
  end: "2026-03-05T10:30:00Z",
  reminders: [{ method: "popup" }],
});
// ---- missing_argument_in_a_map
const numbers = [1, 2];
return (await Promise.all(numbers.map((number) => mux.github.get_issue({ owner: "acme", number })))).length;
// ---- missing_argument_in_a_constant
const args = { owner: "acme" };
return (await mux.github.list_issues(args)).total;
// ---- missing_argument_in_a_constant_of_several_lines
const message = {
  to: ["ada@example.com"],
  body: "Hello",
};
const { sent } = await mux.mail.send(message);
return sent;
// ---- missing_beside_unknown_of_an_open_schema
return await mux.github.get_user({ login: "ada" });
// ---- undefined_for_a_required_argument
return (await mux.tasks.stats({ project: undefined })).total;
// ---- null_for_a_required_argument
return (await mux.mail.read({ id: null })).body;
// ---- null_for_an_optional_argument
return (await mux.mail.search({ query: "a", folder: null })).messages.length;
// ---- null_for_an_optional_list
return (await mux.github.create_issue({ owner: "acme", repo: "app", title: "T", labels: null })).number;
// ---- text_for_a_number
return (await mux.github.get_issue({ owner: "acme", repo: "app", number: "1" })).title;
// ---- text_for_an_optional_number
return (await mux.web.search({ query: "mcp", count: "10" })).results.length;
// ---- text_for_an_amount
return (await mux.bank.transfer({ from: "a1", to: "a2", amount: "12.50", currency: "EUR" })).status;
// ---- number_for_a_text
return (await mux.bank.transactions({ account: 1 })).transactions.length;
// ---- number_for_a_text_in_a_list
return (await mux.mail.mark({ ids: [1, 2], read: true })).changed;
// ---- text_for_a_boolean
return (await mux.tasks.list({ project: "app", done: "false" })).tasks.length;
// ---- number_for_a_boolean
return (await mux.mail.mark({ ids: ["m1"], read: 1 })).changed;
// ---- boolean_for_a_text
return (await mux.mail.search({ query: true })).messages.length;
// ---- text_for_a_list
return (await mux.github.create_issue({ owner: "acme", repo: "app", title: "T", labels: "bug" })).number;
// ---- texts_with_commas_for_a_list
return (await mux.mail.send({ to: "ada@example.com,grace@example.com", subject: "Hi", body: "x" })).sent;
// ---- list_for_a_text
return (await mux.mail.read({ id: ["m1"] })).body;
// ---- object_for_a_text
return (await mux.tasks.stats({ project: { name: "app" } })).total;
// ---- objects_for_texts
return (await mux.calendar.create_event({ title: "Call", start: "2026-03-05T10:00:00Z", end: "2026-03-05T10:30:00Z", attendees: [{ email: "ada@example.com" }] })).id;
// ---- text_for_a_patch
return (await mux.tasks.update({ id: 1, patch: "done=true" })).ok;
// ---- text_that_is_not_offered
return (await mux.github.list_issues({ owner: "acme", repo: "app", state: "opened" })).total;
// ---- text_in_capitals_that_is_not_offered
return (await mux.github.list_issues({ owner: "acme", repo: "app", state: "OPEN" })).total;
// ---- priority_that_is_not_offered
return (await mux.mail.send({ to: ["ada@example.com"], subject: "Hi", body: "x", priority: "urgent" })).sent;
// ---- currency_that_is_not_offered
return (await mux.bank.transfer({ from: "a1", to: "a2", amount: 5, currency: "eur" })).status;
// ---- constant_that_is_not_offered
const mode = "walking";
return (await mux.maps.route({ from: [0, 0], to: [1, 1], mode })).minutes;
// ---- nested_text_that_is_not_offered
return await mux.calendar.create_event({
  title: "Call",
  start: "2026-03-05T10:00:00Z",
  end: "2026-03-05T10:30:00Z",
  reminders: [{ method: "sms", minutes: 5 }],
});
// ---- pair_of_one
return (await mux.maps.route({ from: [52.5], to: [48.1, 11.6] })).km;
// ---- pair_of_three
return (await mux.maps.route({ from: [52.5, 13.4, 34], to: [48.1, 11.6] })).km;
// ---- pair_of_texts
return (await mux.maps.route({ from: ["52.5", "13.4"], to: [48.1, 11.6] })).km;
// ---- object_for_a_pair
return (await mux.maps.route({ from: { lat: 52.5, lon: 13.4 }, to: [48.1, 11.6] })).km;
// ---- constant_of_another_kind
const number = "4";
return (await mux.github.get_issue({ owner: "acme", repo: "app", number })).comments;
// ---- constant_list_for_a_text
const ids = ["m1", "m2"];
return (await mux.mail.read({ id: ids })).body;
// ---- template_for_a_number
const n = 4;
return (await mux.github.get_issue({ owner: "acme", repo: "app", number: `${n}` })).comments;
// ---- template_for_a_list
const who = "ada";
return (await mux.mail.send({ to: `${who}@example.com`, subject: "Hi", body: "x" })).sent;
// ---- constant_template_for_a_list
const who = "ada";
const to = `${who}@example.com`;
return (await mux.mail.send({ to, subject: "Hi", body: "x" })).sent;
// ---- count_for_a_text
const project = [1, 2].length;
return (await mux.tasks.stats({ project })).total;
// ---- text_in_place_of_arguments
return (await mux.mail.search("invoice")).messages.length;
// ---- list_in_place_of_arguments
return (await mux.tasks.list(["app"])).tasks.length;
// ---- two_positional_arguments
return (await mux.github.list_issues("acme", "app")).total;
// ---- number_in_place_of_arguments
return (await mux.tasks.stats(7)).total;
// ---- path_of_a_call_that_is_a_number
return await mux.call(5, { query: "a" });
// ---- read_without_a_handle
return await mux.read();
// ---- search_without_words
return (await mux.search()).results.length;
// ---- search_with_an_object
return (await mux.search({ query: "issues" })).results.length;
// ---- part_without_data
mux.emit({ type: "image", mimeType: "image/png" });
// ---- text_in_place_of_a_part
mux.emit("done");
