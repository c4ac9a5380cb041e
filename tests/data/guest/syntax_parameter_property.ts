class Point {
  constructor(private x: number, public y: number) {}
}
return new Point(1, 2);
