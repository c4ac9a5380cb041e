const sleep = (ms) => new Promise(resolve => setTimeout(resolve, ms));

async function retry(action, { attempts = 3, delay = 5 } = {}) {
  let lastError;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    try {
      return await action(attempt);
    } catch (error) {
      lastError = error;
      console.warn(`attempt ${attempt} failed: ${error.message}`);
      await sleep(delay * 2 ** attempt);
    }
  }
  throw lastError;
}

const text = await retry(async (attempt) => {
  const name = attempt < 3 ? `absent-${attempt}.txt` : "notes.md";
  const { content } = await mux.files.read_text_file({ path: `${mux.input.dir}/${name}` });
  return content;
});
const failed = await retry(() => mux.files.read_text_file({ path: "/" }), { attempts: 2, delay: 1 }).catch((e) => e.kind);
return { length: text.length > 10, failed };
