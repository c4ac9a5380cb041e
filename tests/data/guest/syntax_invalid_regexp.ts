return "a".match(/(/);
