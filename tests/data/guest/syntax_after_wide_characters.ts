const emoji = "😀😀"; const wide = "é中" let broken = 1;
