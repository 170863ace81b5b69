module mxkv

go 1.23
