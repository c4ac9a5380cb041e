class Task {
  async run() {
    return 3;
  }
}
