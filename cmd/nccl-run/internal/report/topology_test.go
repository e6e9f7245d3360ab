package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/detect"
)

var someFacts = []detect.Fact{
	{Subject: "GPU 0", Name: "sm", Value: "90", From: "CUDA"},
	{Subject: "port eth0", Name: "speed", Value: "10000", Why: "it does not know"},
	{Subject: "GPU 0", Name: "class", Value: "0x030200", From: "sysfs"},
}

func TestTopology(t *testing.T) {
	system, err := topo.Builtin("h200x2")
	require.NoError(t, err)
	var out bytes.Buffer
	doc := NewTopology(system, someFacts)
	require.NoError(t, doc.Write(&out))
	text := out.String()
	back, err := DecodeTopology(&out)
	require.NoError(t, err)
	require.Equal(t, doc, back)
	require.Equal(t, 2, len(system.Nodes[topo.NodeGPU]))
	require.Equal(t, "0000:06:00.0", back.Nodes[0].BusID)
	require.Equal(t, 0, *back.Nodes[0].Rank)
	// Each link has another direction.
	for _, l := range back.Links {
		require.Contains(t, back.Links, TopologyLink{l.To, l.From, l.Type, l.BW})
	}

	edit := func(old, new string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, new, 1)
	}
	for text, want := range map[string]string{
		"":                                 "it is empty",
		edit(`"version":1`, `"version":2`): "version 2;",
		edit(topologyFormat, "another"):    `it is "another"`,
		edit(`"notes"`, `"remarks"`):       "remarks",
		text + text:                        "something follows",
	} {
		_, err := DecodeTopology(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

// What is said of one thing stands together, what is assumed apart.
func TestWriteTopology(t *testing.T) {
	system, err := topo.Builtin("h200x2")
	require.NoError(t, err)
	plain := *system
	plain.Notes = []topo.Note{{Text: "assumed: port eth0: speed 10000; it does not know"}, {Line: 3, Column: 5, Text: "odd"}}
	var out bytes.Buffer
	require.NoError(t, WriteTopology(&out, &plain, someFacts))
	require.Contains(t, out.String(), `
measured
  GPU 0  sm     90        CUDA
         class  0x030200  sysfs

assumed, or odd
  assumed: port eth0: speed 10000; it does not know
  h200x2:3:5: odd
`)
}

func TestWriteDOT(t *testing.T) {
	system, err := topo.Builtin("pcie8")
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, WriteDOT(&out, system))
	nodes := 0
	for _, list := range system.Nodes {
		nodes += len(list)
	}
	nodes -= len(system.Nodes[topo.NodeGPU])
	require.Equal(t, nodes, strings.Count(out.String(), "label=")-strings.Count(out.String(), " -- "))
	// All links are symmetric there.
	links := 0
	for n := range allNodes(system) {
		for _, l := range n.Links {
			if n.Type != topo.NodeGPU && l.To.Type != topo.NodeGPU {
				links++
			}
		}
	}
	require.Equal(t, links, 2*strings.Count(out.String(), " -- "))
}
