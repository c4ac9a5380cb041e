return [typeof await mux.fix.pid(), typeof await mux.fix.pid({}), typeof await mux.fix.pid(undefined)];
