return mux.input.name;
