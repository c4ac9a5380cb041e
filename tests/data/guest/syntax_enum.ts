const before = 1;
  enum Color { Red, Green }
return Color.Red;
