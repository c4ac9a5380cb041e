const outcomes = await Promise.allSettled([mux.fix.echo({ text: "a" }), mux.fix.fail({ message: "b" })]);
return outcomes.map((o) => (o.status === "fulfilled" ? o.value : `${o.reason.name}: ${o.reason.message}`));
