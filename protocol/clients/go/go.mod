module github.com/mxkv/mxkv/protocol/clients/go

go 1.23
