module mxkv.test/hashing

go 1.23

require (
	github.com/bradfitz/gomemcache v0.0.0-20260422231931-4d751bb6e37c
	github.com/mxkv/mxkv/protocol/clients/go v0.1.0
)

replace github.com/mxkv/mxkv/protocol/clients/go => ../../../protocol/clients/go
