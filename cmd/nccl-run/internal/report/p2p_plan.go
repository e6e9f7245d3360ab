package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/ncclgo/ncclgo/internal/jsondoc"
	"github.com/ncclgo/ncclgo/planner"
)

// P2PPlanVersion is the version of the JSON document of nccl-run p2p-schedule
// --bytes.
const P2PPlanVersion = 1

const p2pPlanFormat = "ncclgo p2p-plan"

// P2PPlan is what a rank does in an all-to-all, in the form of the JSON document of
// docs/FORMATS.md.
type P2PPlan struct {
	Format    string     `json:"format"` // always p2pPlanFormat
	Version   int        `json:"version"`
	Rank      int        `json:"rank"`
	Kernel    string     `json:"kernel"`
	Channels  int        `json:"channels"`
	Threads   int        `json:"threads"`
	Exchanges []Exchange `json:"exchanges"`
	// Batches[channel] are the exchanges, as indexes, that it runs at once, one batch
	// after the other.
	Batches [][][]int `json:"batches"`
}

// Exchange is what happens in a round.
type Exchange struct {
	Epoch   int  `json:"epoch"`
	Round   int  `json:"round"`
	Channel int  `json:"channel"`
	Send    Half `json:"send"`
	Recv    Half `json:"recv"`
}

// Half is a send or a receive.
type Half struct {
	Peer       int    `json:"peer"`
	Bytes      int64  `json:"bytes"`
	Channels   int    `json:"channels"`
	Proto      string `json:"proto"`
	ChunkBytes int    `json:"chunkBytes"`
}

// WriteP2PPlan writes the document of a rank's plan.
func WriteP2PPlan(w io.Writer, rank int, p *planner.P2PPlan) error {
	d := P2PPlan{
		Format: p2pPlanFormat, Version: P2PPlanVersion, Rank: rank,
		Kernel: p.Variant.String(), Channels: p.Channels, Threads: p.Threads, Batches: p.Batches,
	}
	half := func(h *planner.Half) Half {
		return Half{h.Peer, h.Bytes, h.Channels, h.Proto.String(), h.ChunkBytes}
	}
	for i := range p.Exchanges {
		e := &p.Exchanges[i]
		d.Exchanges = append(d.Exchanges, Exchange{e.Epoch, e.Round, e.Channel, half(&e.Send), half(&e.Recv)})
	}
	return json.NewEncoder(w).Encode(&d)
}

// DecodeP2PPlan reads a document that WriteP2PPlan wrote. Other formats and
// versions, and unknown fields, are errors.
func DecodeP2PPlan(r io.Reader) (*P2PPlan, error) {
	d := new(P2PPlan)
	err := jsondoc.Decode(r, jsondoc.Limit, d)
	if err == nil {
		err = jsondoc.Check(d.Format, d.Version, p2pPlanFormat, P2PPlanVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("document of nccl-run p2p-schedule --bytes: %w", err)
	}
	return d, nil
}
