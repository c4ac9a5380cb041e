// input: 725653563933458433
return [mux.input / 1e6, mux.input + 1000, Number.isSafeInteger(mux.input), mux.input % 10];
