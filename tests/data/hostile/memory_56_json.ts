// must: error memory
// must: result "RangeError"
// must on quickjs: result "InternalError"
// must on quickjs: error memory
try {
  return JSON.parse("[" + "[],".repeat(2 ** 24) + "[]]").length;
} catch (error) {
  return error.name;
}
