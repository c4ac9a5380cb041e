const a = 1; let b = ; return b;
