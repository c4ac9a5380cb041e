new Promise((done) => setTimeout(() => done(3), 1));
