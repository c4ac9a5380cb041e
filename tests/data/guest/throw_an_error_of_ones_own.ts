class NotReady extends Error {
  override name = "NotReady";
}
throw new NotReady("come back later");
