const raw = await mux.call.raw("everything.get-annotated-message", { messageType: "success", includeImage: true });
const annotations = raw.content.map((part) => part.annotations);
const failed = await mux.call.raw("git.git_log", { repo_path: "/nowhere" });
const { structuredContent, isError = false } = await mux.call.raw("time.get_current_time", { timezone: "UTC" });
const text = failed.content.map((c) => c.type === "text" ? c.text : "").join("");
return { priorities: annotations.map((a) => a.priority), failed: failed.isError, isError, zone: structuredContent?.timezone ?? JSON.parse(raw.content[0].text).timezone, text: text.length > 0 };
