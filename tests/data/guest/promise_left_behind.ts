mux.fix.hang();
return "done";
