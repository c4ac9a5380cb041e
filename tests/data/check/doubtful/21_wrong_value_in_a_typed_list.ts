// mistake: line 4, column 40: "warning" is no type of message
// says: warning
type MessageType = "error" | "success" | "debug";
const kinds: MessageType[] = ["error", "warning", "debug"];
const messages: string[] = [];
for (const messageType of kinds) {
  messages.push(await mux.everything.get_annotated_message({ messageType }));
}
return messages;
