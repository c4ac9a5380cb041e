// The engine aborts at this one whatever one does: only its process may end.
// must: error memory
// must: result "RangeError"
// must on quickjs: result "InternalError"
// must on quickjs: error memory
try {
  const kept: string[] = [];
  for (let i = 0; ; i++) {
    const text = "x".repeat(2 ** 28 + i);
    text.charCodeAt(5);
    kept.push(text, JSON.parse(`"${text}"`));
  }
} catch (error) {
  return error.name;
}
