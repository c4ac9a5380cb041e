const late = Promise.reject(new Error("somebody looked"));
await new Promise((resolve) => setTimeout(resolve, 2));
return await late.catch((error) => error.message);
