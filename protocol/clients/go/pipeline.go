package mxkv

import "context"

const (
	pipelineBytes      = 1 << 16 // that leave before the first reply is read, so that both sides never block
	pipelineOperations = 1000
)

// Pipeline has the operations of a Batch, but each is executed by itself, whatever becomes of the others: the Outcome of one that
// fails has its error. Other clients' requests may come in between.
type Pipeline struct{ Batch }

// Pipeline calls gather, and then executes the gathered operations in few round trips. If gather returns an error, Pipeline sends
// nothing and returns that error. If the server refuses operations, it executes all others, and Pipeline returns the first
// refusal (ErrClient, ErrServer). ErrNotFound, ErrNotStored and ErrStale come only with the operation's outcome.
func (c *Client) Pipeline(ctx context.Context, gather func(*Pipeline) error) error {
	var pipeline Pipeline
	if err := gather(&pipeline); err != nil {
		return err
	}
	if pipeline.err != nil {
		return pipeline.err
	}
	var refused error
	for first := 0; first < len(pipeline.takes); {
		end := pipeline.pieceFrom(first)
		read := func(in replies) error { return pipeline.readPiece(in, first, end, &refused) }
		if err := c.do(ctx, request{pipeline.lines.Bytes()[pipeline.ends[first]:pipeline.ends[end]], read, never}); err != nil {
			return err
		}
		first = end
	}
	return refused
}

// pieceFrom returns the end of the operations that leave together.
func (p *Pipeline) pieceFrom(first int) int {
	end := first + 1
	for end < len(p.takes) && end-first < pipelineOperations && p.ends[end+1]-p.ends[first] <= pipelineBytes {
		end++
	}
	return end
}

func (p *Pipeline) readPiece(in replies, first, end int, refused *error) error {
	for number := first; number < end; number++ {
		got, err := in.next()
		if err != nil {
			answer, fine := err.(*Error)
			if !fine {
				return err
			}
			answer.Operation = number
			if *refused == nil {
				*refused = err
			}
		} else if kind := kindsOfCode[got.words[0]]; kind != nil && !p.mayMiss(number, got) {
			err = &Error{"", number, []error{kind}}
		}
		if err := p.takes[number](got, err); err != nil {
			return err
		}
	}
	return nil
}

// mayMiss tells whether a reply of "not found" is no failure: of a Delete, whose outcome is false.
func (p *Pipeline) mayMiss(number int, got reply) bool {
	return got.words[0] == "NF" && p.lines.Bytes()[p.ends[number]+1] == 'd'
}
