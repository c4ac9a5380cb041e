class Task {
  async run() {
    return 3;
  }
}
new Task().run();
