let total;
total = 3;
