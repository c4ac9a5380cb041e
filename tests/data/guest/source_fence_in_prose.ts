<think>The user wants `1`.</think>
Here is the program, it uses `return`:

```ts title="answer.ts"
return 1;
```

It returns one.
