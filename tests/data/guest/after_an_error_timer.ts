setTimeout(() => { for (;;); }, 0);
throw new Error("the one that counts");
