return mux.input === null;
