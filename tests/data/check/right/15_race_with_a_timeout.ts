const timeout = (ms) => new Promise((_, reject) => setTimeout(() => reject(new Error("too slow")), ms));
const fast = await Promise.race([mux.time.get_current_time({ timezone: "UTC" }), timeout(20000)]);
const slow = await Promise.race([
  mux.everything.trigger_long_running_operation({ duration: 5, steps: 1 }),
  timeout(30),
]).catch((e) => e.message);
const any = await Promise.any([Promise.reject(new Error("no")), mux.everything.echo({ message: "yes" })]);
return { zone: fast.timezone, slow, any };
