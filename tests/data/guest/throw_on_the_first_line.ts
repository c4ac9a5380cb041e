const a = () => { throw new Error("here"); }; a();
