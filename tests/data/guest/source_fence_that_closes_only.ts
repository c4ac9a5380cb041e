return 3;
```
