<reasoning>
return 1
</reasoning>
return 3;
