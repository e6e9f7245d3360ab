package parity

import (
	"encoding/json"
	"fmt"

	"github.com/ncclgo/ncclgo/topo"
)

// Result is what a run's tuning file holds of nodes, graphs and channels.
type Result struct {
	// HostNodes counts hosts, Nodes nodes as NCCL counts them: a host can be
	// several nodes, and several hosts one.
	HostNodes int `json:"nNodes"`
	Nodes     int `json:"nvlDomains"`
	// LocalRanks is the number of ranks on a host.
	LocalRanks int `json:"localRanks"`
	NRanks     int `json:"nRanks"`
	// CollNetAsked and CollNet say whether CollNet was asked for and was in use
	// after ranks had agreed.
	CollNetAsked int `json:"collnetEnabledInput"`
	CollNet      int `json:"collnetEnableFinal"`
	// MNNVL says whether NVLink joins the hosts.
	MNNVL       int    `json:"mnnvl"`
	NVLSSupport int    `json:"nvlsSupport"`
	System      System `json:"system"`
	// Searched are the graphs rank 0 found, Final what ranks agreed on, without
	// channels, by the name of a [topo.GraphID].
	Searched map[string]Graph `json:"graphs_search_rank0"`
	Final    map[string]Graph `json:"graphs_final"`

	Channels           int `json:"nChannels"`
	CollChannels       int `json:"collChannels"`
	NVLSChannels       int `json:"nvlsChannels"`
	NVLSChunkBytes     int `json:"nvlsChunkSize"`
	NVLSTreeChunkBytes int `json:"nvlsTreeMaxChunkSize"`
	P2PChannels        int `json:"p2pnChannels"`
	P2PChannelsPerPeer int `json:"p2pnChannelsPerPeer"`
	P2PChunkBytes      int `json:"p2pChunkSize"`
	P2PGroupSize       int `json:"p2pSchedGroupSize"`
	MaxTreePattern     int `json:"maxTreePattern"`
	AllNVLink          int `json:"isAllNvlink"`
	AllDirectP2P       int `json:"isAllDirectP2p"`
	// P2PSchedule[rank][round] is whom a rank sends to and receives from.
	P2PSchedule [][][2]int `json:"p2pSchedule"`
	// BufferBytes are of LL, LL128 and Simple.
	BufferBytes  [3]int  `json:"buffSizes"`
	MinSM        int     `json:"minCompCap"`
	MaxSM        int     `json:"maxCompCap"`
	MinNetBW     float32 `json:"minNetBw"`
	RankToNode   []int   `json:"rankToNode"`
	CollNetHeads []int   `json:"collNetHeads_rank0"`
	// Rings[channel] is the ring from rank 0 on.
	Rings [][]int `json:"rings"`
	// Trees[channel][rank] is up, three down, depth.
	Trees [][][5]int `json:"trees"`
	// NVLS[rank] is of channels 0 and 1.
	NVLS [][]NVLS `json:"nvls"`
	// CollNetChain[channel][rank] is up and down.
	CollNetChain [][][2]int `json:"collnetChain"`
	// CollNetDirect[rank] is of channel 0.
	CollNetDirect []CollNetDirect `json:"collnetDirect_ch0"`

	// The model: µs, GB/s, threads, bytes.
	Latencies  Costs   `json:"latencies"`
	Bandwidths Costs   `json:"bandwidths"`
	MaxThreads Threads `json:"maxThreads"`
	Thresholds Threads `json:"threadThresholds"`
}

// System is the machine as NCCL saw it from rank 0, trimmed.
type System struct {
	// Inter says whether ranks are beyond the network.
	Inter  int            `json:"inter"`
	MaxBW  float32        `json:"maxBw"`
	Total  float32        `json:"totalBw"`
	Counts map[string]int `json:"counts"`
	GPUs   []GPU          `json:"gpus"`
	Nets   []Net          `json:"nets"`
	// GPUToGPU[from][to] and so on are paths by position in GPUs and Nets.
	GPUToGPU [][]Path `json:"gpu_gpu"`
	GPUToNet [][]Path `json:"gpu_net"`
	NetToGPU [][]Path `json:"net_gpu"`
	GPUToCPU [][]Path `json:"gpu_cpu"`
}

// GPU is a GPU of a [System].
type GPU struct {
	ID   string `json:"id"`
	Rank int    `json:"rank"`
	Dev  int    `json:"dev"`
	SM   int    `json:"sm"`
	GDR  int    `json:"gdr"`
}

// Net is a port of a network card of a [System].
type Net struct {
	ID       string  `json:"id"`
	Dev      int     `json:"dev"`
	BW       float32 `json:"bw"`
	Latency  float32 `json:"latency"`
	ASIC     string  `json:"asic"`
	Port     int     `json:"port"`
	GDR      int     `json:"gdr"`
	Coll     int     `json:"coll"`
	LocalGPU int     `json:"localGpu"`
}

// Path is a path: type, GB/s and number of links.
type Path struct {
	Type topo.PathType
	BW   float32
	Hops int
}

// UnmarshalJSON reads [type, bandwidth, hops].
func (p *Path) UnmarshalJSON(data []byte) error {
	var name string
	fields := []any{&name, &p.BW, &p.Hops}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	var err error
	p.Type, err = topo.ParsePathType(name)
	return err
}

// Graph is a graph as the tuning file has it.
type Graph struct {
	ID           int       `json:"id"`
	Pattern      int       `json:"pattern"`
	CrossNIC     int       `json:"crossNic"`
	MinChannels  int       `json:"minChannels"`
	MaxChannels  int       `json:"maxChannels"`
	NChannels    int       `json:"nChannels"`
	BWIntra      float32   `json:"bwIntra"`
	BWInter      float32   `json:"bwInter"`
	LatencyInter float32   `json:"latencyInter"`
	TypeIntra    string    `json:"typeIntra"`
	TypeInter    string    `json:"typeInter"`
	SameChannels int       `json:"sameChannels"`
	Hops         int       `json:"nHops"`
	Channels     []Channel `json:"channels"`
}

// Channel is a channel of a [Graph]: ranks and network cards.
type Channel struct {
	Intra []int   `json:"intra"`
	Inter []int64 `json:"inter"`
}

// NVLS is a rank's place in an NVLS channel.
type NVLS struct {
	HeadRank int    `json:"headRank"`
	Heads    int    `json:"nHeads"`
	Down     int    `json:"down"`
	Out      int    `json:"out"`
	TreeUp   int    `json:"treeUp"`
	TreeDown [3]int `json:"treeDown"`
	Up       []int  `json:"up"`
}

// CollNetDirect is a rank's place in a CollNet channel without chains.
type CollNetDirect struct {
	HeadRank int   `json:"headRank"`
	NHeads   int   `json:"nHeads"`
	Shift    int   `json:"shift"`
	Out      int   `json:"out"`
	Heads    []int `json:"heads"`
	Up       []int `json:"up"`
	Down     []int `json:"down"`
}

// Graphs returns the graphs that rank 0 found.
func (r *Result) Graphs() (*topo.Graphs, error) {
	var graphs topo.Graphs
	for name, g := range r.Searched {
		made, err := r.graph(&g)
		if err != nil {
			return nil, fmt.Errorf("graph %s: %w", name, err)
		}
		graphs[g.ID] = made
	}
	return &graphs, nil
}

func (r *Result) graph(g *Graph) (*topo.Graph, error) {
	intra, err := topo.ParsePathType(g.TypeIntra)
	if err != nil {
		return nil, err
	}
	inter, err := topo.ParsePathType(g.TypeInter)
	if err != nil {
		return nil, err
	}
	made := &topo.Graph{
		ID: topo.GraphID(g.ID), Pattern: topo.Pattern(g.Pattern), NRanks: len(r.System.GPUs),
		BWIntra: g.BWIntra, BWInter: g.BWInter, LatencyInter: g.LatencyInter, TypeIntra: intra, TypeInter: inter,
		CrossNIC: topo.CrossNIC(g.CrossNIC), SameChannels: g.SameChannels != 0,
		MinChannels: g.MinChannels, MaxChannels: g.MaxChannels, Hops: g.Hops,
		MinSM: r.MinSM, MaxSM: r.MaxSM, RanksPerGPU: 1,
	}
	for _, c := range g.Channels {
		made.Channels = append(made.Channels, topo.Channel{Ranks: c.Intra, Nets: c.Inter})
	}
	return made, nil
}
