package topo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompare(t *testing.T) {
	const file = `<system version="1">
  <cpu numaid="0" host_hash="0x1" arch="arm64">
    <pci busid="0000:01:00.0" class="0x03" link_speed="" link_width="0">
      <gpu dev="0" sm="90" rank="0">
        <nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/>
      </gpu>
    </pci>
    <nic>
      <net name="eth0" dev="0" speed="10000" guid="0xa"/>
    </nic>
  </cpu>
</system>`
	for _, tt := range []struct{ name, old, new, want string }{
		{"same", "", "", ""},
		{"spelling", `busid="0000:01:00.0"`, `busid="00000000:01:00.0"`, ""},
		{"host", `host_hash="0x1"`, `host_hash="0x2"`, ""},
		{"hexadecimal", `guid="0xa"`, `guid="0xA"`, ""},
		{"number", `count="18"`, `count="0x10"`, "cpu 0 / pci 0000:01:00.0 / gpu / nvlink fffffff:ff:ff.0: count 18, 16"},
		{"attribute", ` guid="0xa"`, ``, "cpu 0 / nic / net eth0: guid 0xa, none"},
		{"another", `arch="arm64"`, `arch="arm64" affinity="f"`, "cpu 0: affinity none, f"},
		{"port", `name="eth0"`, `name="eth1"`, "cpu 0 / nic / net eth0: only in the first\ncpu 0 / nic / net eth1: only in the second"},
		{"CPU", `numaid="0"`, `numaid="-1"`, "cpu 0: only in the first\ncpu -1: only in the second"},
		{
			"order", `<net name="eth0" dev="0" speed="10000" guid="0xa"/>`, `<net name="eth2" dev="1"/><net name="eth0" dev="0" speed="10000" guid="0xa"/>`,
			"cpu 0 / nic / net eth2: only in the second",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := Parse("a.xml", []byte(file))
			require.NoError(t, err)
			b, err := Parse("b.xml", []byte(strings.Replace(file, tt.old, tt.new, 1)))
			require.NoError(t, err)
			var lines []string
			for _, d := range Compare(a, b) {
				lines = append(lines, d.String())
			}
			require.Equal(t, tt.want, strings.Join(lines, "\n"))
		})
	}

	// The same in another order.
	two := strings.Replace(file, "</nic>", `<net name="eth1" dev="1"/></nic>`, 1)
	turned := strings.Replace(file, "<nic>", `<nic><net name="eth1" dev="1"/>`, 1)
	a, err := Parse("a.xml", []byte(two))
	require.NoError(t, err)
	b, err := Parse("b.xml", []byte(turned))
	require.NoError(t, err)
	require.Equal(t, []Difference{{"cpu 0 / nic", "order", "net eth0, net eth1", "net eth1, net eth0"}}, Compare(a, b))
}
