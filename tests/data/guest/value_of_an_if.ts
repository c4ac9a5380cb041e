const total = 3;
if (total > 2) {
  total;
}
