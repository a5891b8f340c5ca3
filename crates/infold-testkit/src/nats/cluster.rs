//! Servers that keep each stream several times, and what can happen to them: kills, pauses, cut links, slow disks and
//! losing power.
//!
//! Routes lead through links ([`super::link`]), one for each direction in which a server may connect; clients
//! connect to servers directly, so that a partitioned server can still be spoken with.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use async_nats::{Client, ConnectOptions};

use super::config::{NODES_MAX, NodeConfig, NodePorts, Passwords, node_name};
use super::link::{Link, LinkState};
use super::monitor::{Monitor, until_some};
use super::node::NatsNode;
use super::placement::until_streams_can_be_placed;
use super::server::{fresh_rng, with_other_ports};
use super::{NATS_USER, NatsSetup, Storage};
use crate::TempFolder;

/// Connections that two servers have: a pool of three, and one for their own account. Until all are there, servers that
/// both connected to each other may drop some, and forget for a while what the other can keep.
const ROUTES_OF_PAIR: u64 = 4;

/// Servers that know each other. They are killed when this is dropped. Nodes are counted from 0.
#[derive(Debug)]
pub struct NatsCluster {
    members: Vec<Member>,
    routes: Vec<ServerRoute>,
    passwords: Passwords,
    monitor: Monitor,
    /// Removed after the servers are dead: fields are dropped in this order.
    folder: TempFolder,
}

/// A server, and what was done to it.
#[derive(Debug)]
struct Member {
    node: NatsNode,
    /// What its links do, unless another server's are worse.
    links: LinkState,
    condition: Condition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    Running,
    Paused,
    Killed,
}

/// The way by which one server connects to another.
#[derive(Debug)]
struct ServerRoute {
    from: usize,
    to: usize,
    link: Link,
}

impl NatsCluster {
    /// Starts this many servers, at most three, and waits until they have a leader; `None` where there is no program to
    /// start, which is a failure in CI.
    pub async fn start(nodes: usize) -> Result<Option<Self>> {
        NatsSetup::default().start_cluster(nodes).await
    }

    pub(super) async fn start_with(setup: &NatsSetup, program: &Path, nodes: usize) -> Result<Self> {
        ensure!((2..=NODES_MAX).contains(&nodes), "a cluster has 2 to {NODES_MAX} servers");
        with_other_ports(async || Self::start_once(setup, program, nodes).await).await
    }

    async fn start_once(setup: &NatsSetup, program: &Path, nodes: usize) -> Result<Self> {
        let folder = setup.folder()?;
        let mut rng = fresh_rng()?;
        let passwords = Passwords::new(setup, &mut rng);
        let ports = NodePorts::free(nodes, &mut rng)?;
        let mut routes = Vec::new();
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            if from != to {
                routes.push(ServerRoute { from, to, link: Link::start(ports[to].route).await? });
            }
        }
        let mut members = Vec::new();
        for (node, ports) in ports.into_iter().enumerate() {
            let own = folder.join(&node_name(node));
            std::fs::create_dir(&own)?;
            let store = own.join("store");
            let from_here = routes.iter().filter(|route| route.from == node);
            let peers: Vec<(usize, u16)> = from_here.map(|route| (route.to, route.link.port())).collect();
            let config = NodeConfig { setup, node, ports, store: &store, passwords: &passwords, peers: &peers };
            let node = NatsNode::start_new(program, &own, &config)?;
            members.push(Member { node, links: LinkState::Open, condition: Condition::Running });
        }
        let cluster = Self { members, routes, passwords, monitor: Monitor::new()?, folder };
        cluster.until_ready().await?;
        if setup.storage != Storage::Off {
            let url = cluster.members[0].node.client_url();
            until_streams_can_be_placed(&url, &cluster.passwords.expected, nodes).await?;
        }
        Ok(cluster)
    }

    /// Kills a server at once, as a crash would.
    pub fn kill(&mut self, node: usize) -> Result<()> {
        let member = self.member_mut(node)?;
        member.node.kill()?;
        member.condition = Condition::Killed;
        Ok(())
    }

    /// Starts a killed server again, with the same ports and data, and does not wait until it is ready.
    pub fn restart(&mut self, node: usize) -> Result<()> {
        let member = self.member_mut(node)?;
        member.node.start()?;
        member.condition = Condition::Running;
        Ok(())
    }

    /// Stops a server where it is (SIGSTOP). Its connections stay open and silent.
    pub fn pause(&mut self, node: usize) -> Result<()> {
        let member = self.member_mut(node)?;
        member.node.process()?.pause()?;
        member.condition = Condition::Paused;
        Ok(())
    }

    /// Lets a paused server go on.
    pub fn resume(&mut self, node: usize) -> Result<()> {
        let member = self.member_mut(node)?;
        member.node.process()?.resume()?;
        member.condition = Condition::Running;
        Ok(())
    }

    /// Makes a server's disk slow: each of its syncs takes longer. Needs `strace`.
    pub fn slow_disk(&mut self, node: usize) -> Result<()> {
        self.member_mut(node)?.node.slow_disk()
    }

    /// Ends what [`NatsCluster::slow_disk`] began. The server may have been killed meanwhile.
    pub fn usual_disk(&mut self, node: usize) -> Result<()> {
        self.member_mut(node)?.node.usual_disk();
        Ok(())
    }

    /// Takes everything that traced servers have written so far for written to their disks, as the kernel does by itself
    /// after half a minute.
    pub fn write_back(&mut self) -> Result<()> {
        self.members.iter_mut().try_for_each(|member| member.node.write_back())
    }

    /// Lets all servers lose power, one right after another, and with it all that they had not synced: of their files,
    /// what is left is what [`crate::Disk::with_journal`] keeps. They must have been started by [`NatsSetup::traced`],
    /// and have run since. [`NatsCluster::restart`] starts them again, from then on without a tracer.
    pub fn lose_power(&mut self) -> Result<()> {
        for member in &mut self.members {
            member.node.lose_power()?;
            member.condition = Condition::Killed;
        }
        Ok(())
    }

    /// Parts a server from the others, as a network does that drops packets: their connections stay, and carry nothing.
    /// Its clients still reach it.
    pub fn partition(&mut self, node: usize) -> Result<()> {
        self.set_links(node, LinkState::Silent)
    }

    /// Parts a server from the others by closing their connections and every new one. Its clients still reach it.
    pub fn disconnect(&mut self, node: usize) -> Result<()> {
        self.set_links(node, LinkState::Closed)
    }

    /// Ends what [`NatsCluster::partition`] or [`NatsCluster::disconnect`] began.
    pub fn heal(&mut self, node: usize) -> Result<()> {
        self.set_links(node, LinkState::Open)
    }

    /// The folder with all files of all servers.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where clients connect, one for each server, without user and password.
    pub fn client_urls(&self) -> Vec<String> {
        self.members.iter().map(|member| member.node.client_url()).collect()
    }

    /// Where servers say how they are, one for each server.
    pub fn monitor_urls(&self) -> Vec<String> {
        self.members.iter().map(|member| member.node.monitor_url()).collect()
    }

    /// The password of [`NATS_USER`].
    pub fn password(&self) -> &str {
        &self.passwords.infold
    }

    /// A client that may use any of the servers.
    pub async fn client(&self) -> Result<Client> {
        let addresses: Vec<async_nats::ServerAddr> =
            self.client_urls().iter().map(|url| url.parse()).collect::<Result<_, _>>()?;
        self.connect_options().connect(addresses).await.context("cannot connect to the cluster")
    }

    /// A client that uses this server and no other.
    pub async fn client_of(&self, node: usize) -> Result<Client> {
        let url = self.member(node)?.node.client_url();
        self.connect_options().ignore_discovered_servers().connect(url).await.context("cannot connect to the server")
    }

    fn connect_options(&self) -> ConnectOptions {
        ConnectOptions::with_user_and_password(NATS_USER.to_owned(), self.password().to_owned())
    }

    /// Which server leads a stream: the one that most of all servers name, of those that run and are not parted from the
    /// rest, if it is among these itself.
    pub async fn leader_of(&self, stream: &str) -> Option<usize> {
        let mut named = Vec::new();
        for member in self.reachable() {
            named.extend(self.monitor.leader_of(member.node.ports().monitor, stream).await);
        }
        let votes = |node: &usize| named.iter().filter(|name| **name == node_name(*node)).count();
        let leader = (0..self.members.len()).find(|node| votes(node) > self.members.len() / 2)?;
        self.members[leader].is_reachable().then_some(leader)
    }

    /// Waits until a stream has a leader.
    pub async fn until_leader(&self, stream: &str) -> Result<usize> {
        until_some(&format!("a leader of {stream}"), async || Ok(self.leader_of(stream).await)).await
    }

    /// Waits until every server that runs and is not parted from the rest is connected with the others, has a leader and
    /// has caught up.
    pub async fn until_ready(&self) -> Result<()> {
        let routes_min = ROUTES_OF_PAIR * (self.reachable().count() as u64).saturating_sub(1);
        let ready = until_some("servers that are ready", async || {
            for member in self.reachable() {
                member.node.check_running()?;
                let monitor = member.node.ports().monitor;
                if self.monitor.routes(monitor).await < routes_min || !self.monitor.is_healthy(monitor).await {
                    return Ok(None);
                }
            }
            Ok(Some(()))
        });
        ready.await.with_context(|| (0..self.members.len()).map(|node| self.log(node)).collect::<String>())
    }

    fn reachable(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_reachable())
    }

    /// The end of what a server has said, over all its starts.
    pub fn log(&self, node: usize) -> String {
        let log = self.member(node).and_then(|member| Ok(member.node.process()?.log()));
        log.unwrap_or_default()
    }

    fn set_links(&mut self, node: usize, state: LinkState) -> Result<()> {
        self.member_mut(node)?.links = state;
        for route in &self.routes {
            let ends = [self.members[route.from].links, self.members[route.to].links];
            let worse = [LinkState::Closed, LinkState::Silent].into_iter().find(|state| ends.contains(state));
            route.link.set(worse.unwrap_or(LinkState::Open));
        }
        Ok(())
    }

    fn member(&self, node: usize) -> Result<&Member> {
        self.members.get(node).with_context(|| format!("there is no node {node}"))
    }

    fn member_mut(&mut self, node: usize) -> Result<&mut Member> {
        self.members.get_mut(node).with_context(|| format!("there is no node {node}"))
    }
}

impl Member {
    fn is_reachable(&self) -> bool {
        self.condition == Condition::Running && self.links == LinkState::Open
    }
}
