```typescript
const a = 1;

throw new Error("on line four");
```
